// What this program calls itself, and of which build it is.
import { version } from "../package.json";

// Put in by scripts/build.ts; a program that runs from its source has none.
declare const BUILD: { commit: string; date: string } | undefined;

export const VERSION: string = version;

/** The commit and the day of the build; null for a program that runs from its source. */
export const build = typeof BUILD === "undefined" ? null : BUILD;

/** The version as people read it. */
export function describeVersion(): string {
  return build ? `${VERSION} (commit ${build.commit}, built ${build.date})` : `${VERSION} (from source)`;
}
