// What a check has found, and what to do about it.

export interface Finding {
  /** What was looked at, in a word or two. */
  about: string;
  /** A warning may be meant so; a problem keeps something from working, or soon will. */
  state: "ok" | "warning" | "problem";
  /** What is so. */
  detail: string;
  /** What to do about it; null where all is well. */
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
