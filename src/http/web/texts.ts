// All texts of the web page, in one place for translation.

export const texts = {
  name: "podkeep",
  tagline: "Keeps your podcast subscriptions in sync.",
  appsConnectTo: "Apps connect to",
  noAccount: "No account yet? The admin makes one:",
  createUser: "podkeep user create NAME",
  notFound: "This page does not exist.",
  home: "Go to the start",
  failed: "podkeep can't show this page right now. Nothing was changed.",
} as const;
