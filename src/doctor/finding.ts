// The result of a check.

export interface Finding {
  /** What was checked, in a word or two. */
  about: string;
  /** A warning may be intended; a problem stops something from working, or soon will. */
  state: "ok" | "warning" | "problem";
  detail: string;
  /** How to fix it; null if all is well. */
  advice: string | null;
}

export const ok = (about: string, detail: string): Finding => ({ about, state: "ok", detail, advice: null });

export const warning = (about: string, detail: string, advice: string): Finding => ({
  about,
  state: "warning",
  detail,
  advice,
});

export const problem = (about: string, detail: string, advice: string): Finding => ({
  about,
  state: "problem",
  detail,
  advice,
});
