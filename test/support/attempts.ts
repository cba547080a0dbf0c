// Attempts to sign in that nothing limits.
import type { Attempts } from "../../src/services/accounts/password-checker.ts";

export const UNLIMITED: Attempts = {
  begin: async () => () => {},
  fail: () => {},
  failToken: () => {},
  succeed: () => {},
};
