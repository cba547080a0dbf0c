// Days, months and years of a time zone, as times.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** From the start of the first to the start of the next, in Unix milliseconds. */
export type Span = { from: number; to: number };

/** The calendar of one time zone. */
export class Calendar {
  readonly #format: Intl.DateTimeFormat;

  private constructor(readonly zone: string) {
    this.#format = new Intl.DateTimeFormat("en-CA", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
  }

  /** @param zone such as "Europe/Berlin"; anything else is UTC */
  static of(zone: string | undefined): Calendar {
    try {
      return new Calendar(zone && zone.length <= 64 ? zone : "UTC");
    } catch {
      return new Calendar("UTC");
    }
  }

  /** The day of a time, such as "2026-03-01". */
  dayOf(ms: number): string {
    const parts = new Map(this.#format.formatToParts(ms).map(({ type, value }) => [type, value]));
    return `${parts.get("year")?.padStart(4, "0")}-${parts.get("month")}-${parts.get("day")}`;
  }

  /** The year of a time. */
  yearOf(ms: number): number {
    return Number(this.dayOf(ms).slice(0, 4));
  }

  /** The first minute of a day. Not each day has a midnight, and not each year all days. */
  #startOf(day: string): number {
    const midnight = Date.parse(day);
    let [before, at] = [midnight - 15 * HOUR, midnight + 25 * HOUR];
    while (at - before > MINUTE) {
      const middle = before + Math.floor((at - before) / 2 / MINUTE) * MINUTE;
      if (this.dayOf(middle) < day) before = middle;
      else at = middle;
    }
    return at;
  }

  /** When a day begins and ends. */
  spanOf(day: string): Span {
    const next = new Date(Date.parse(day) + 24 * HOUR).toISOString().slice(0, 10);
    return { from: this.#startOf(day), to: this.#startOf(next) };
  }

  /** The twelve months of a year from 1 to 9998. */
  monthsOf(year: number): Span[] {
    const starts = Array.from({ length: 13 }, (_, month) => {
      const first = new Date(0);
      first.setUTCFullYear(year, month, 1);
      return this.#startOf(first.toISOString().slice(0, 10));
    });
    return starts.slice(1).map((to, month) => ({ from: starts[month] ?? to, to }));
  }
}
