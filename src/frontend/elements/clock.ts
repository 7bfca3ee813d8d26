/** Time that passes in front of the user: "starting, 3 s", "2 h ago". */
import { createContext, useContext, useEffect, useState } from 'react';

/** Whether the widget around is on screen: time passes only in front of somebody. */
export const VisibleContext = createContext(true);

/**
 * Now, in milliseconds, renewed every `period` while widget and page are visible; 0: never.
 */
export function useNow(period: number): number {
  const [now, setNow] = useState(() => Date.now());
  const isVisible = useContext(VisibleContext);
  useEffect(() => {
    if (period === 0 || !isVisible) {
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
  }, [period, isVisible]);
  return now;
}

/** Whole seconds since a time of the API; never negative, clocks differ. */
export function secondsSince(time: string | null, now: number): number {
  return time === null
    ? 0
    : Math.max(0, Math.round((now - Date.parse(time)) / 1000));
}
