// Texts of connecting an app.

const apps = {
  antennapod: "AntennaPod",
  kasts: "Kasts",
  gpodder: "gPodder",
  pinepods: "PinePods",
  openpodcast: "Open Podcast API app",
  other: "Another app",
};
const inSentence = { ...apps, openpodcast: "an Open Podcast API app", other: "another app" };

export const connect = {
  title: "Connect an app",
  choose: "Which app?",
  apps,
  done: (app: keyof typeof apps) => `Connect ${inSentence[app]}`,
  noTyping: "You type no password into the app: a page of this server asks you to allow it.",
  byToken: "By gpodder.net and a token instead",
  token: "The app gets its own password, a token. You can revoke it later.",
  device: "Which device? For example: phone",
  submit: "Continue",
  once: "The password below is a token for this app. It is shown only now.",
  noPhone: (advice: string) => `No phone can reach this server at this address. To change that, ${advice}.`,
  scan: "Scan this with the phone",
  scanSteps: "It opens these steps on the phone.",
  scanOnce: "It opens these values on the phone, to copy them. The link works once, for ten minutes.",
  scanValues: "Or scan the values themselves",
  steps: "In the app",
  onPhone: "On a phone",
  yourName: "your user name",
  yourToken: "a token: Connect an app makes it",
  open: "Show the values",
  openOnce: "The values are shown once.",
  expired: "This link was used already, or its ten minutes are over. Connect the app again.",
  again: "Connect an app",
  anotherApp: "Another app",
  back: "Done",
} as const;
