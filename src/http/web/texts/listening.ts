// Texts of the pages about listening.
import { plural } from "../../../plural.ts";

export const listening = {
  title: "Listening",
  continue: "Continue",
  history: "History",
  year: "This year",
  none: "Nothing is begun. What you play in an app that syncs play positions comes here.",
  latest: (count: number) => `These are the latest ${count}. History has the others.`,
  noPlays: "No plays yet. What you play in an app that syncs play positions comes here.",
  noneFound: "No play matches.",
  titles:
    "Apps send no titles of episodes. They come from the feeds, if this server reads feeds; until then an episode is called by the name of its file.",
  of: (position: string, total: string | null) => (total === null ? position : `${position} of ${total}`),
  fromTo: (from: string, to: string) => `${from} to ${to}`,
  setTo: (position: string) => `set to ${position}`,
  markedFinished: "marked as finished",
  at: (position: string | null, total: string | null) => {
    if (position === null) return "No app has sent a position.";
    return `Every app continues at ${position}${total === null ? "" : ` of ${total}`}.`;
  },
  finished: "It is finished.",
  continueHere: "Continue from here",
  continueAt: (position: string) => `Continue from here: ${position}`,
  markFinished: "Mark as finished",
  setDone: (position: string) => `Set to ${position}. Each app gets it at its next sync.`,
  finishedDone: "Marked as finished. Each app gets it at its next sync.",
  noLength: "The length of this episode is not known, so it can't be marked as finished.",
  podcast: "Podcast",
  thisPodcast: "This podcast",
  allPodcasts: "All podcasts",
  app: "Played in",
  allApps: "All apps",
  search: "Search",
  filter: "Show",
  older: "Older",
  searchedTo: "Searched back to",
  searchOn: "Search older plays",
  daysIn: (zone: string | null) =>
    zone === null
      ? "Days are those of UTC. With JavaScript they are those of your time zone."
      : `Days are those of ${zone}.`,
  duration: (seconds: number) => {
    const minutes = Math.round(seconds / 60);
    if (minutes < 60) return `${minutes} min`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  },
  listenedIn: (year: number, time: string) => `${time} in ${year}`,
  noneIn: (year: number) => `No plays in ${year}.`,
  byMonth: "By month",
  byPodcast: "By podcast",
  others: (count: number) => plural(count, "other podcast"),
  export: "Download all plays",
  csv: "CSV",
  json: "JSON",
} as const;
