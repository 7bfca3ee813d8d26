/** Time that passes in front of the user: "starting, 3 s", "2 h ago". */
import { useEffect, useState } from 'react';

/**
 * Now, in milliseconds, renewed every `period` while the page is visible; 0: never renewed.
 */
export function useNow(period: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (period === 0) {
      return;
    }
    let timer = 0;
    const tick = (): void => {
      if (document.visibilityState !== 'hidden') {
        setNow(Date.now());
      }
      timer = window.setTimeout(tick, period);
    };
    tick();
    return () => {
      window.clearTimeout(timer);
    };
  }, [period]);
  return now;
}

/** Whole seconds since a time of the API; never negative, clocks differ. */
export function secondsSince(time: string | null, now: number): number {
  return time === null
    ? 0
    : Math.max(0, Math.round((now - Date.parse(time)) / 1000));
}
