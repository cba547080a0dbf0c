// The logger that the program writes to, and one that writes nothing.

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

/** What is logged, in the order in which it is written. */
export interface LogLine {
  level: Level;
  /** ISO 8601, in UTC. */
  time: string;
  msg?: string | undefined;
  [field: string]: unknown;
}

/** Takes a message, or fields and a message. */
type Write = (about: object | string, message?: string) => void;

export interface Logger extends Record<Level, Write> {
  isLevelEnabled(level: Level): boolean;
}

/** @param least minimum level; with "silent" nothing is written */
export function createLogger(least: Level | "silent", write: (line: LogLine) => void): Logger {
  const isLevelEnabled = (level: Level) => least !== "silent" && LEVELS.indexOf(level) >= LEVELS.indexOf(least);
  const timeOf = createTimestamp();
  const writeAt = (level: Level): Write => {
    if (!isLevelEnabled(level)) return () => {};
    return (about, message) => {
      const [fields, msg] = typeof about === "string" ? [{}, about] : [about, message];
      write({ level, time: timeOf(), ...fields, msg });
    };
  };
  return {
    debug: writeAt("debug"),
    info: writeAt("info"),
    warn: writeAt("warn"),
    error: writeAt("error"),
    isLevelEnabled,
  };
}

// Formatting a time costs as much as the rest of a line, and many lines share a millisecond.
function createTimestamp(): () => string {
  let last = 0;
  let text = "";
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}

export const silentLogger = createLogger("silent", () => {});
