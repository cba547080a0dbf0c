// The protocols that the server speaks. Mount another one here: the first that owns a path serves it.
import { openPodcast } from "./openpodcast/protocol.ts";
import type { Protocol } from "./protocol.ts";

export const protocols: Protocol[] = [openPodcast];

/** The protocol that answers on a path; the Open Podcast API owns all that no other does. */
export const protocolOf = (path: string): Protocol => protocols.find((protocol) => protocol.owns(path)) ?? openPodcast;
