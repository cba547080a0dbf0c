// All texts of the web page, in one place for translation.
import { listening } from "./listening-texts.ts";
import { moveIn } from "./move-in-texts.ts";

const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

export const texts = {
  name: "podkeep",
  tagline: "Keeps your podcast subscriptions in sync.",
  menu: { podcasts: "Podcasts", listening: "Listening", apps: "Apps", history: "History", account: "Account" },
  copy: "Copy",
  copied: "Copied",
  show: "Show",
  cancel: "Cancel",

  signIn: {
    title: "Sign in",
    name: "Name",
    password: "Password or token",
    submit: "Sign in",
    wrong: "The name or the password is wrong.",
    wait: (seconds: number) => {
      const minutes = Math.ceil(seconds / 60);
      const time = minutes > 1 ? plural(minutes, "minute", "minutes") : plural(seconds, "second", "seconds");
      return `Too many failed logins. Try again in ${time}.`;
    },
    ended: "Your session has ended. Sign in to continue.",
    needsHttps: (url: string) => `Open ${url} to sign in: over http your browser would forget that you did.`,
    appsConnectTo: "Apps connect to",
    noAccount: "No account yet, or the password is lost? Ask the admin for a link.",
    noPassword: "No password yet? The admin sets one:",
    setPassword: "podkeep user password NAME",
  },

  setup: {
    title: "Create the first user",
    about: "This server has no user yet. Choose a name and a password; then connect an app.",
    password: "Password",
    submit: "Create",
    over: "This setup link is wrong, or the first user was created already.",
    none: "There is no user yet. Open the setup link: podkeep printed it when it started, in its terminal or its log.",
  },

  choosePassword: {
    title: "Choose a password",
    first: (name: string) => `Your user name is ${name}. Choose a password; then connect an app.`,
    again: (name: string) => `A new password for ${name}. It ends all sessions; apps keep their tokens.`,
    password: "New password",
    rule: "At least 8 characters.",
    show: "Show",
    hide: "Hide",
    submit: "Save",
    over: "This link was used, replaced by a newer one, or its seven days are over. The admin creates another one.",
  },

  podcasts: {
    count: (count: number) => plural(count, "podcast", "podcasts"),
    found: (count: number, search: string) => `${plural(count, "podcast", "podcasts")} for “${search}”`,
    search: "Search",
    add: "Add",
    addTitle: "Add a podcast",
    shown: (of: number) => `# of ${of}`,
    inSync: "In sync:",
    silent: "No sync for a while:",
    otherDevices: (count: number) => plural(count, "other device", "other devices"),
    feedUrl: "Feed URL",
    takesFeeds: "The address of the feed, for example https://feeds.example.org/show.xml. Its web page has it as RSS.",
    more: "Import and export",
    importOpml: "Import OPML",
    exportOpml: "Export OPML",
    file: "OPML file",
    added: "Added",
    since: "Subscribed",
    plays: "Plays",
    noPlays: "No app has sent a play of this podcast.",
    allPlays: "All plays",
    it: "it",
    allChanges: "All changes",
    unsubscribe: "Unsubscribe",
    unsubscribed: "Unsubscribed",
    unsubscribedCount: (count: number) => `${count} unsubscribed`,
    subscribe: "Subscribe",
    undo: "Undo",
    none: "No podcasts yet. Connect an app: it brings its podcasts. Or import an OPML file, or add one by its address.",
    allUnsubscribed: "You have unsubscribed from all podcasts.",
    noneFound: "No podcast matches.",
    all: "Show all",
    subscribedTo: (name: string) => `Subscribed to ${name}.`,
    noneUnsubscribed: "No unsubscribed podcasts.",
    previous: "Previous",
    next: "Next",
    page: (page: number, pages: number) => `Page ${page} of ${pages}`,
    back: "Back to podcasts",
    imported: (added: number, present: number, failed: number) =>
      `${plural(added, "podcast", "podcasts")} added, ${present} there already, ${failed} failed.`,
    badUrl: (reason: string) => `This feed URL can't be added: ${reason}.`,
    badFile: (reason: string) => `The file was not imported: ${reason}.`,
    noFile: "Choose an OPML file.",
    readOnly: "You are signed in with a token that can only read.",
  },

  apps: {
    title: "Apps",
    connect: "Connect an app",
    none: "No app is connected yet.",
    lastSync: "Last sync",
    never: "Not synced yet",
    created: "connected",
    expires: "expires",
    rename: "Rename",
    forget: "Forget",
    deviceName: (caption: string) => `Name of ${caption}`,
    save: "Save",
    revoke: "Revoke",
    revokeAsk: (label: string) => `Revoke ${label}? It can't sync any more.`,
    noLabel: "App without a name",
    kind: "App",
    readOnly: "can only read",
    devices: { desktop: "Desktop", laptop: "Laptop", mobile: "Phone", server: "Server", other: "Device" },
    needsPassword: "To connect, rename and revoke apps, sign in with your password.",
    sessions: "Signed-in browsers",
    sessionsAre: "Browsers in which you are signed in to this page.",
    unknownBrowser: "Unknown browser",
    thisBrowser: "this browser",
    signedIn: "signed in",
    lastSeen: "last seen",
    byToken: (label: string) => `with the token ${label}`,
    end: "Sign out",
    endSession: (browser: string) => `Sign out ${browser}`,
  },

  connect: {
    title: "Connect an app",
    antennapod: "AntennaPod",
    choosesNextcloud: "In AntennaPod, open Settings, Synchronization, and choose Nextcloud Gpoddersync.",
    entersServer: "Enter the server address, and tap Proceed to login.",
    allows: "A page of this server opens. Sign in with your password, and tap Allow.",
    others: "Another app, or by a token",
    choose: "Which app?",
    apps: {
      antennapod: "AntennaPod",
      kasts: "Kasts",
      gpodder: "gPodder",
      pinepods: "PinePods",
      openpodcast: "Open Podcast API app",
      other: "Another app",
    },
    device: "Which device? For example: phone",
    submit: "Continue",
    done: (app: string) => `Connect ${app}`,
    once: "The password below is a token for this app. It is shown only now.",
    noPhone: (host: string) =>
      `No phone can reach this server at this address. Start it with ${host === "0.0.0.0" ? "" : "PODKEEP_HOST=0.0.0.0 or "}PODKEEP_PUBLIC_URL set.`,
    scan: "Open this on the phone",
    scanOnce: "The link works once, for ten minutes.",
    scanValues: "Or scan the values themselves",
    open: "Show the values",
    openOnce: "The values are shown once.",
    expired: "This link was used already, or its ten minutes are over. Connect the app again.",
    back: "Done",
  },

  allow: {
    title: "Allow an app",
    ask: (app: string, user: string) => `“${app}” wants to connect to podkeep as ${user}.`,
    may: "It will be able to read and change your podcasts and play positions.",
    mayNot: "It can't change your password or connect other apps. Revoke it under Apps at any time.",
    from: "Address of the device",
    check: "Allow it only if you started this just now, on a device that you know.",
    allow: "Allow",
    deny: "Deny",
    done: (app: string) => `Done. Go back to “${app}”.`,
    denied: (app: string) => `Denied. “${app}” gets no access.`,
    over: "This login is over. It has expired, or was used. Start it again in the app.",
    needsPassword: "You are signed in with a token, which can't allow apps.",
    signIn: "Sign in with your password",
  },

  listening,
  moveIn,

  history: {
    title: "History",
    none: "Nothing has changed yet.",
    noneFound: "No change matches.",
    older: "Older",
    more: (count: number) => `and ${count} more`,
    all: "Show all",
    onlyOf: (name: string) => `Changes of ${name}`,
    filter: "Changes by",
    everybody: "All apps",
    show: "Show",
    putBack: "Put back",
    putThemBack: "Put them back",
    keep: "Keep it so",
    putBackDone: (count: number) =>
      count === 0 ? "Nothing was missing." : `${plural(count, "podcast is", "podcasts are")} back.`,
    restored: (count: number) =>
      count === 0
        ? "Nothing was missing."
        : `The list is restored: ${plural(count, "podcast was", "podcasts were")} changed.`,
    restore: "Restore the list",
    restoreBefore: "Restore the list before it",
    before: "Before",
    anotherTime: "Another time",
    asOf: "As of",
    asOfUtc: "As of (UTC)",
    exact: "Also unsubscribe what was added since",
    preview: "Preview",
    restoreNow: "Restore",
    will: (subscribed: number, left: number, unsubscribed: number) =>
      `${[
        `${plural(subscribed, "podcast comes", "podcasts come")} back`,
        left > 0 && `${left} ${left === 1 ? "is" : "are"} there already`,
        unsubscribed > 0 && `${unsubscribed} ${unsubscribed === 1 ? "is" : "are"} unsubscribed`,
      ]
        .filter(Boolean)
        .join(", ")}.`,
    nothing: "The list is the same now: nothing to restore.",
    listThen: (count: number) => `The list had ${plural(count, "podcast", "podcasts")}`,
    listBefore: (count: number) => `Before these changes the list had ${plural(count, "podcast", "podcasts")}`,
    badTime: "Enter a date and a time.",
    begins: "The history begins",
    tooEarly: "There is no history of that time.",
    future: "This time is in the future.",
    back: "Back to the history",
    warning: "Warning",
    seeWhat: "See what",
    massRemoval: (app: string, removed: number, of: number) => `${app} removed ${removed} of ${of} podcasts`,
    actors: {
      token: "App",
      session: "App",
      page: "Web page",
      /** By which command an admin did it. */
      command: (label: string | null) =>
        label === "opml import" ? "podkeep (OPML file)" : `podkeep ${label ?? ""}`.trim(),
      worker: "Server",
      on: (app: string, device: string) => `${app} on ${device}`,
    },
    /** With a number, or the name of one podcast. */
    what: {
      added: (of: number | string) => `added ${of}`,
      subscribed: (of: number | string) => `subscribed to ${of}`,
      unsubscribed: (of: number | string) => `removed ${of}`,
      deleted: (of: number | string) => `deleted ${of}`,
      moved: (of: number | string) => `moved ${of}`,
      merged: (of: number | string) => `merged ${of}`,
      guid_replaced: (of: number | string) => `changed the id of ${of}`,
      guid_added: (of: number | string) => `added an id to ${of}`,
      kept: (of: number | string) => `kept ${of}`,
      lost: (of: number | string) => `lost ${of}, not in the backup`,
      restored: (of: number | string) =>
        of === 1 || of === "" ? "restored the server" : `restored the server ${of} times`,
    },
    /** What a restore would do, with the name of one podcast. */
    would: {
      added: (name: string) => `add ${name}`,
      subscribed: (name: string) => `subscribe to ${name}`,
      unsubscribed: (name: string) => `unsubscribe ${name}`,
    },
  },

  account: {
    title: "Account",
    signedInAs: "Signed in as",
    password: "Password",
    present: "Current password",
    changed: "New password",
    change: "Change password",
    changedDone: "The password was changed. Other sessions have ended. Apps keep their tokens: revoke them under Apps.",
    wrong: "The current password is wrong.",
    data: "Your data",
    download: "Download my data",
    signOut: "Sign out",
    signOutEverywhere: "Sign out everywhere",
    everywhere: "Ends all sessions on all devices. Tokens of apps stay valid: revoke them under Apps.",
    needsPassword: "You are signed in with a token. Sign in with your password to change it.",
  },

  docs: {
    title: "API reference",
    version: "Version",
    base: "base URLs",
    auth: "Every request needs a token:",
    parameter: "Parameter",
    field: "Field",
    type: "Type",
    meaning: "Meaning",
    request: "Request",
    schemas: "Schemas",
    token: "Token, to try requests here",
    tokenNote: "It stays in this field. Nothing is stored, and no cookie is sent.",
    tryIt: "Try it",
    body: "Body",
    changes: "This changes the podcasts of the token's user.",
    send: "Send",
    command: "The same from a terminal:",
    noResponse: "No response came. Check the token's characters and the connection, then try again.",
  },

  errors: {
    notFound: "This page does not exist.",
    forbidden: "This is not allowed.",
    failed: "podkeep can't show this page right now. Nothing was changed.",
    unavailable: "podkeep can't write right now. Nothing was changed.",
    home: "Go to the start",
  },
} as const;

export type AppKind = keyof typeof texts.connect.apps;

interface Step {
  text: string;
  /** Fields of the app's screen, and the value to type into each. */
  fields?: [string, "server" | "user" | "token"][];
}

/** How to connect each app, with the names on its screens. */
export const steps: Record<AppKind, Step[]> = {
  antennapod: [
    { text: "Open Settings, Synchronization, and choose gpodder.net." },
    { text: "Enter the server, and tap Proceed to login.", fields: [["Server address", "server"]] },
    {
      text: "Log in, name the device, and tap Create device.",
      fields: [
        ["Username", "user"],
        ["Password", "token"],
      ],
    },
  ],
  kasts: [
    { text: "Open Settings, Synchronization, Login, and choose gpodder.net." },
    {
      text: "Check Use custom server, and enter these values.",
      fields: [
        ["Username", "user"],
        ["Password", "token"],
        ["Hostname", "server"],
      ],
    },
    { text: "Name the device, choose Create Device, and sync." },
  ],
  gpodder: [
    { text: "Open Preferences, gpodder.net." },
    {
      text: "Check Synchronize subscriptions and episode actions, and enter these values.",
      fields: [
        ["Server", "server"],
        ["Username", "user"],
        ["Password", "token"],
      ],
    },
    { text: "Name the device, and close the window." },
  ],
  pinepods: [
    { text: "Open Settings, Podcast Sync Settings." },
    {
      text: "Enter these values under GPodder-compatible Server.",
      fields: [
        ["Server URL", "server"],
        ["Username", "user"],
        ["Password", "token"],
      ],
    },
    { text: "Choose Test Connection, then Authenticate." },
  ],
  openpodcast: [
    { text: "Open the app's settings for synchronization." },
    {
      text: "Enter the server and the token.",
      fields: [
        ["Server", "server"],
        ["Token", "token"],
      ],
    },
    { text: "Sync." },
  ],
  other: [
    { text: "Open the app's settings for gPodder, Nextcloud gPodder Sync or the Open Podcast API." },
    {
      text: "Enter these values.",
      fields: [
        ["Server", "server"],
        ["User name", "user"],
        ["Password or token", "token"],
      ],
    },
    { text: "Sync." },
  ],
};
