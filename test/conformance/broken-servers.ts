// Variants of this server that break one rule each, by changing what goes in or comes out.
import { brokenChanges } from "./broken-changes.ts";
import { brokenDraft } from "./broken-draft.ts";
import { brokenDraftBatches } from "./broken-draft-batches.ts";
import { brokenNames } from "./broken-names.ts";
import { brokenOpenPodcast } from "./broken-openpodcast.ts";
import { brokenSequences } from "./broken-sequences.ts";
import { brokenSyncServers } from "./broken-sync.ts";

export const BROKEN = [
  ...brokenOpenPodcast,
  ...brokenSequences,
  ...brokenChanges,
  ...brokenNames,
  ...brokenDraft,
  ...brokenDraftBatches,
  ...brokenSyncServers,
];
