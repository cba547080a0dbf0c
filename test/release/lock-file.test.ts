// The lock file, by which `npm ci` installs on every platform.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { z } from "zod";

const Versions = z.record(z.string(), z.string()).optional();
const Lock = z.object({
  packages: z.record(z.string(), z.object({ dependencies: Versions, optionalDependencies: Versions })),
});
const text = await Bun.file(join(import.meta.dirname, "../../package-lock.json")).text();
const { packages } = Lock.parse(JSON.parse(text));

/** Whether npm finds a package from another one's directory: beside it, or in a directory above. */
function finds(from: string, name: string): boolean {
  if (`${from && `${from}/`}node_modules/${name}` in packages) return true;
  return from !== "" && finds(from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

test("the lock file has all packages that others need, those for other platforms too", () => {
  const missing = Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !finds(from, name)),
  );
  expect(missing).toEqual([]);
});

test("the lock file names no registry, so that npm asks the one that is configured", () => {
  expect(text.includes('"resolved"')).toBe(false);
});
