// How to connect each app, with the names on its screens.
import { adviseForPhones, isLocal } from "../../config/app-url.ts";
import type { Config } from "../../config/settings.ts";
import { texts } from "./texts.ts";

export type AppKind = keyof typeof texts.connect.apps;

/** Why no phone reaches a server; null if phones do. */
export const whyNoPhone = (server: string, config: Config): string | null =>
  isLocal(server) ? texts.connect.noPhone(adviseForPhones(config)) : null;

interface Step {
  text: string;
  /** Fields of the app's screen, and the value to type into each. */
  fields?: Record<string, "server" | "user" | "token">;
}

/** AntennaPod's way without typing a token: the login flow of Nextcloud. */
const LOGIN: Step[] = [
  { text: "Open Settings, Synchronization, and choose Nextcloud Gpoddersync." },
  { text: "Enter the server address, and tap Proceed to login.", fields: { "Server address": "server" } },
  { text: "A page of this server opens. Sign in with your password, and tap Allow." },
];

/** The steps for an app; for one with a login flow, that way unless it is by a token. */
export const stepsOf = (kind: AppKind, byToken: boolean): Step[] => (hasLogin(kind) && !byToken ? LOGIN : STEPS[kind]);

/** Whether an app asks its user on a page of this server, so that it needs no token. */
export const hasLogin = (kind: AppKind): boolean => kind === "antennapod";

/** Apps for computers: a code for the phone comes last. */
export const isForComputers = (kind: AppKind): boolean => ["kasts", "gpodder", "pinepods"].includes(kind);

const STEPS: Record<AppKind, Step[]> = {
  antennapod: [
    { text: "Open Settings, Synchronization, and choose gpodder.net." },
    { text: "Enter the server, and tap Proceed to login.", fields: { "Server address": "server" } },
    { text: "Log in, name the device, and tap Create device.", fields: { Username: "user", Password: "token" } },
  ],
  kasts: [
    { text: "Open Settings, Synchronization, Login, and choose gpodder.net." },
    {
      text: "Check Use custom server, and enter these values.",
      fields: { Username: "user", Password: "token", Hostname: "server" },
    },
    { text: "Name the device, choose Create Device, and sync." },
  ],
  gpodder: [
    { text: "Open Preferences, gpodder.net." },
    {
      text: "Check Synchronize subscriptions and episode actions, and enter these values.",
      fields: { Server: "server", Username: "user", Password: "token" },
    },
    { text: "Name the device, and close the window." },
    {
      text: "When gPodder shows the podcasts of your list, choose Select all, then Apply. What you leave out, gPodder removes in all your apps.",
    },
  ],
  pinepods: [
    { text: "Open Settings, Podcast Sync Settings." },
    {
      text: "Enter these values under GPodder-compatible Server.",
      fields: { "Server URL": "server", Username: "user", Password: "token" },
    },
    { text: "Choose Test Connection, then Authenticate." },
  ],
  openpodcast: [
    { text: "Open the app's settings for synchronization." },
    { text: "Enter the server and the token.", fields: { Server: "server", Token: "token" } },
    { text: "Sync." },
  ],
  other: [
    { text: "Open the app's settings for gPodder, Nextcloud gPodder Sync or the Open Podcast API." },
    { text: "Enter these values.", fields: { Server: "server", "User name": "user", "Password or token": "token" } },
    { text: "Sync." },
  ],
};
