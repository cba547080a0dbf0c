// The server's log: JSON lines, or lines for people on a terminal.
import pc from "picocolors";
import { destination, type Logger, type LoggerOptions, pino, stdTimeFunctions } from "pino";
import { z } from "zod";

const Line = z.looseObject({ level: z.string(), time: z.string(), msg: z.string().default("") });

/** Makes the logger; it writes at once, so that nothing is lost when the process ends. */
export function createLog(level: string, forPeople: boolean): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  if (!forPeople) return pino(options, destination({ fd: 1, sync: true }));
  return pino(options, { write: (line: string) => process.stdout.write(readable(Line.parse(JSON.parse(line)))) });
}

function readable({ level, time, msg, ...fields }: z.infer<typeof Line>): string {
  const paint = { error: pc.red, warn: pc.yellow, debug: pc.dim }[level] ?? String;
  const { method, route, status, duration_ms, ...rest } = fields;
  const request = method ? `${method} ${route} ${status} ${duration_ms} ms` : "";
  const others = Object.entries(rest).map(([name, value]) => pc.dim(`${name}=${value}`));
  return `${[pc.dim(time.slice(11, 19)), paint(level.padEnd(5)), request || msg, ...others].join(" ")}\n`;
}
