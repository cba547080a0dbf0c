// Version and build.
import { version } from "../package.json";

// Defined by scripts/build.ts; undefined if the program runs from source.
declare const BUILD: { commit: string; date: string } | undefined;

export const VERSION: string = version;

/** Commit and day of the build; null if the program runs from source. */
export const build = typeof BUILD === "undefined" ? null : BUILD;

/** The version for people. */
export function describeVersion(): string {
  return build ? `${VERSION} (commit ${build.commit}, built ${build.date})` : `${VERSION} (from source)`;
}
