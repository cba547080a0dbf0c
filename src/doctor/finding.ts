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

const found =
  (state: "warning" | "problem") =>
  (about: string, detail: string, advice: string): Finding => ({ about, state, detail, advice });

export const warning = found("warning");
export const problem = found("problem");
