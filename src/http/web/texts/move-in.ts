// Texts of moving in.
import { plural } from "../../../plural.ts";

const positions = (count: number) => `${plural(count, "position or mark", "positions and marks")} of episodes`;

export const moveIn = {
  title: "Move in",
  intro:
    "Bring your podcasts and how far you have listened from another app. Nothing is added before you have seen it.",
  files: "AntennaPod: Settings, Import/Export, Database export. Also OPML, gPodder's database, and podkeep's own data.",
  servers: "From another server, such as gpodder.net or Nextcloud: the admin runs podkeep import.",
  file: "File",
  show: "Show what it has",
  noFile: "There is no file, or an empty one. Choose another one.",
  bad: (reason: string) => `Nothing was added. ${reason}.`,
  preview: (source: string) => `From ${source}`,
  podcasts: (added: number, present: number) =>
    `${plural(added, "podcast")} will be added, ${present} ${present === 1 ? "is" : "are"} here already.`,
  left: (count: number) =>
    `You unsubscribed from ${plural(count, "podcast")} since you moved in before. ${count === 1 ? "It stays" : "They stay"} so.`,
  failed: (count: number) => `${plural(count, "feed URL")} can't be used.`,
  noEpisodes: "It has no play positions.",
  episodes: (all: number, stored: number) => `${positions(all)}, ${stored} new or later than here.`,
  ahead: (count: number) =>
    `Later than the server's clock, so without a time: ${count}. If the clock is behind, set it before you move in.`,
  devices: (count: number) => `${plural(count, "device")} will be added.`,
  noTitle: "(no title)",
  more: (count: number) => `and ${count} more`,
  add: "Move in",
  other: "Choose another file",
  done: (podcasts: number, episodes: number, devices: number) => {
    const added = [podcasts > 0 && plural(podcasts, "podcast"), episodes > 0 && positions(episodes)].filter(Boolean);
    if (added.length === 0 && devices > 0)
      return `${plural(devices, "device")} ${devices === 1 ? "was" : "were"} added.`;
    if (added.length === 0) return "Nothing was added: it is all here already.";
    const were = podcasts + episodes === 1 ? "was added. Each app gets it" : "were added. Each app gets them";
    return `${added.join(" and ")} ${were} at its next sync.`;
  },
  back: "Back to the account",
  busy: "Other files are being read",
};
