/** Clock texts of the managers: strict, a text that is not one is null. */

/** `M:SS`, `H:MM:SS`, `D-HH:MM:SS`: minutes and seconds below 60 beside a higher field. */
export function readClock(text: string): number | null {
  const match = /^(?:(?:(\d{1,6})-)?(\d{1,6}):)?(\d{1,6}):(\d{2})$/u.exec(
    text.trim()
  );
  if (match === null) {
    return null;
  }
  const field = (at: number): number | null => {
    const part: string | undefined = match[at];
    return part === undefined ? null : Number(part);
  };
  const [days, hours, minutes, seconds] = [
    field(1),
    field(2),
    field(3),
    field(4)
  ];
  if (
    (seconds ?? 0) > 59 ||
    (hours !== null && (minutes ?? 0) > 59) ||
    (days !== null && (hours ?? 0) > 23)
  ) {
    return null;
  }
  return (
    (days ?? 0) * 86_400 +
    (hours ?? 0) * 3600 +
    (minutes ?? 0) * 60 +
    (seconds ?? 0)
  );
}

/** Words that mean "no deadline" in any manager. */
export function isUnlimited(text: string): boolean {
  return /^(?:unlimited|infinite|infinity|none)$/iu.test(text.trim());
}

const MONTHS = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec'
];

/** `Mon Nov 30 12:27:15 2026` in the host's own time zone: seconds since 1970. */
export function readDate(text: string): number | null {
  const match =
    /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/u.exec(
      text.trim()
    );
  const month = MONTHS.indexOf(match?.[1] ?? '');
  if (match === null || month < 0) {
    return null;
  }
  const [day = 0, hour = 0, minute = 0, second = 0, year = 0] = match
    .slice(2)
    .map(Number);
  return new Date(year, month, day, hour, minute, second).getTime() / 1000;
}
