// Today's apps as they sync: which requests, in which order, with which `since`. Read from their sources and run.

export interface SyncApp {
  name: string;
  /** Part of the ids of checks. */
  key: string;
  protocol: "gpodder" | "nextcloud";
  /** Whether two devices with it differ in what they send; if not, a server tells them apart by their passwords. */
  names_device: boolean;
  /** Null if it sends none. */
  user_agent: string | null;
  /** `login`: a request that gives a cookie, once a sync. `basic`: with each request. `challenge`: after a 401. */
  signs_in: "login" | "basic" | "challenge";
  /** Whether it describes its device before its first sync. */
  describes_device: boolean;
  /** The `since` of the next sync: the last timestamp it received, that and one second, or its own clock. */
  next_since: "timestamp" | "timestamp + 1" | "own clock" | "own clock after uploads";
  /** Whose changes it reads: its own device's, or those of each device that the server lists. */
  reads: "its device" | "each listed device";
  /** Against what the time of a play counts that comes from the server; PinePods keeps the place further on. */
  keeps_place: "later than unsent ones" | "later than any" | "further";
  /** Kasts takes a time with a zone for 1970. */
  reads_zones: boolean;
  /** Where this can be read. */
  source: string;
}

export const APPS: readonly SyncApp[] = [
  {
    name: "AntennaPod",
    key: "antennapod",
    protocol: "gpodder",
    names_device: true,
    user_agent: "AntennaPod/3.11.4",
    signs_in: "login",
    describes_device: true,
    next_since: "timestamp",
    reads: "its device",
    keeps_place: "later than unsent ones",
    reads_zones: true,
    source: "AntennaPod, net/sync: SyncService, EpisodeActionFilter, GpodnetService",
  },
  {
    name: "gPodder",
    key: "gpodder",
    protocol: "gpodder",
    names_device: true,
    user_agent: "gPodder/3.11.5",
    signs_in: "challenge",
    describes_device: true,
    next_since: "timestamp",
    reads: "its device",
    keeps_place: "later than any",
    reads_zones: true,
    source: "gPodder, src/gpodder/my.py; mygpoclient",
  },
  {
    name: "Kasts",
    key: "kasts",
    protocol: "gpodder",
    names_device: true,
    user_agent: "Kasts/25.04.3",
    signs_in: "basic",
    describes_device: true,
    next_since: "timestamp + 1",
    reads: "its device",
    keeps_place: "later than unsent ones",
    reads_zones: false,
    source: "Kasts, src/sync/syncjob.cpp",
  },
  {
    name: "PinePods",
    key: "pinepods",
    protocol: "gpodder",
    names_device: false,
    user_agent: null,
    signs_in: "login",
    describes_device: false,
    next_since: "own clock",
    reads: "each listed device",
    keeps_place: "further",
    reads_zones: true,
    source: "PinePods, rust-api/src/database.rs: call_gpodder_service_sync",
  },
  {
    name: "AntennaPod",
    key: "antennapod",
    protocol: "nextcloud",
    names_device: false,
    user_agent: "AntennaPod/3.11.4",
    signs_in: "basic",
    describes_device: false,
    next_since: "own clock after uploads",
    reads: "its device",
    keeps_place: "later than unsent ones",
    reads_zones: true,
    source: "AntennaPod, net/sync: NextcloudSyncService",
  },
  {
    name: "Kasts",
    key: "kasts",
    protocol: "nextcloud",
    names_device: false,
    user_agent: "Kasts/25.04.3",
    signs_in: "basic",
    describes_device: false,
    next_since: "timestamp + 1",
    reads: "its device",
    keeps_place: "later than unsent ones",
    reads_zones: false,
    source: "Kasts, src/sync/syncjob.cpp",
  },
];
