// Today's apps as they sync: which requests, in which order, with which `since`. Read from their sources and run.

export interface SyncApp {
  name: string;
  /** Part of the ids of checks. */
  key: string;
  protocol: "gpodder" | "nextcloud";
  /** Null if it sends none. */
  user_agent: string | null;
  /** `login`: a request that gives a cookie, once a sync. `basic`: with each request. `challenge`: after a 401. */
  signs_in: "login" | "basic" | "challenge";
  /** Whether it describes its device before its first sync. */
  describes_device: boolean;
  /** The `since` of the next sync: the last timestamp it received, that and one second, or its own clock. */
  next_since: "timestamp" | "timestamp + 1" | "own clock" | "own clock after uploads";
  /** Where this can be read. */
  source: string;
}

export const APPS: readonly SyncApp[] = [
  {
    name: "AntennaPod",
    key: "antennapod",
    protocol: "gpodder",
    user_agent: "AntennaPod/3.11.4",
    signs_in: "login",
    describes_device: true,
    next_since: "timestamp",
    source: "AntennaPod, net/sync: SyncService, GpodnetService",
  },
  {
    name: "gPodder",
    key: "gpodder",
    protocol: "gpodder",
    user_agent: "gPodder/3.11.5",
    signs_in: "challenge",
    describes_device: true,
    next_since: "timestamp",
    source: "gPodder, src/gpodder/my.py; mygpoclient",
  },
  {
    name: "Kasts",
    key: "kasts",
    protocol: "gpodder",
    user_agent: "Kasts/25.04.3",
    signs_in: "basic",
    describes_device: true,
    next_since: "timestamp + 1",
    source: "Kasts, src/sync/syncjob.cpp",
  },
  {
    name: "PinePods",
    key: "pinepods",
    protocol: "gpodder",
    user_agent: null,
    signs_in: "login",
    describes_device: false,
    next_since: "own clock",
    source: "PinePods, rust-api/src/handlers/sync.rs",
  },
  {
    name: "AntennaPod",
    key: "antennapod",
    protocol: "nextcloud",
    user_agent: "AntennaPod/3.11.4",
    signs_in: "basic",
    describes_device: false,
    next_since: "own clock after uploads",
    source: "AntennaPod, net/sync: NextcloudSyncService",
  },
  {
    name: "Kasts",
    key: "kasts",
    protocol: "nextcloud",
    user_agent: "Kasts/25.04.3",
    signs_in: "basic",
    describes_device: false,
    next_since: "timestamp + 1",
    source: "Kasts, src/sync/syncjob.cpp",
  },
];
