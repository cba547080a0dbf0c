// Seconds in an episode: how many there can be, and how people write them.

/** The largest number that every app reads. */
export const MOST_SECONDS = 2 ** 31 - 1;

/** Writes seconds as "54:00" or "1:02:03". */
export function clockOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number) => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Reads "90", "20:00" or "1:02:03" as seconds; null for another text. */
export function parseClock(text: string): number | null {
  const [, hours = "0", minutes = "0", seconds] =
    /^(?:(?:(\d{1,4}):(?=\d\d:))?(\d{1,4}):(?=\d\d$))?(\d{1,7})$/.exec(text) ?? [];
  if (seconds === undefined) return null;
  const isClock = text.includes(":");
  if (isClock && (Number(seconds) > 59 || (Number(hours) > 0 && Number(minutes) > 59))) return null;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}
