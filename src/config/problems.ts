// Problems with the settings: wrong values, and variables that are not settings.
import { closest, distance } from "fastest-levenshtein";
import { DomainError } from "../errors.ts";
import { type Flags, type LoadedSettings, readConfig, strayVariables, variableNames } from "./settings.ts";

/** How many letters of a name may be wrong for a suggestion. */
const FARTHEST = 4;

/** The problems, one line each; `settings` is null if they can't be used at all. */
export function findProblems(flags: Flags): { settings: LoadedSettings | null; problems: string[] } {
  const problems = strayVariables().map(describeStray);
  try {
    return { settings: readConfig(flags), problems };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { settings: null, problems: [...problems, error.message] };
  }
}

function describeStray(name: string): string {
  const whole = name.replace(/_FILE$/, "");
  if (variableNames.includes(whole)) return `${name} is not a setting: only secrets are read from files; set ${whole}`;
  const nearest = closest(name.toUpperCase(), variableNames);
  const meant = distance(name.toUpperCase(), nearest) <= FARTHEST ? `; did you mean ${nearest}?` : "";
  return `${name} is not a setting${meant}`;
}
