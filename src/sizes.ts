// Sizes of files, disks and limits, for people.

/** As in the settings: a KB is 1024 bytes. */
const UNITS = ["KB", "MB", "GB", "TB"];

/** A size in the unit that takes three digits at most: "65.3 GB". */
export function describeSize(bytes: number): string {
  let [size, unit] = [bytes / 1024, 0];
  for (; size >= 1000 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${Number(size.toFixed(1))} ${UNITS[unit]}`;
}
