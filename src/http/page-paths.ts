// The paths of the web page, as patterns of Hono: the one list that a new page needs.

/** Open pages that have the menu for those who are signed in. */
export const OPEN_PAGES = ["/docs", "/connect/:secret", "/setup/:code", "/password/:secret"];

/** Pages and files for strangers. */
export const OPEN_PATHS = ["/", "/sign-in", "/sign-out", "/assets/*", ...OPEN_PAGES];

/** Where password managers look for the page on which a password is changed (W3C, change-password-url). */
export const CHANGE_PASSWORD = "/.well-known/change-password";

/** Pages of users: a stranger who opens one gets the sign-in page. Every path that no list has is closed too. */
export const CLOSED_PATHS = [
  "/podcasts",
  "/podcasts/*",
  "/apps",
  "/apps/*",
  "/connect",
  "/listening",
  "/listening/*",
  "/history",
  "/history/*",
  "/account",
  "/account/*",
  "/allow/*",
  CHANGE_PASSWORD,
];
