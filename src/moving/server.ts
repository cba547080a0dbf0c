// Reading an account on another server, by the protocol that it speaks.
import type { Moving } from "../domain/moving-in.ts";
import { DomainError, isRefusal } from "../errors.ts";
import { findGpodder, readGpodder } from "./gpodder.ts";
import { findNextcloud, readNextcloud } from "./nextcloud.ts";
import { findOpenPodcast, readOpenPodcast } from "./openpodcast.ts";
import { type Account, openRemote } from "./remote.ts";

const READERS = { gpodder: readGpodder, nextcloud: readNextcloud, openpodcast: readOpenPodcast };

export type ServerType = keyof typeof READERS;

const open = (account: Account, type: ServerType) => openRemote(account, type === "openpodcast");

/**
 * Signs in to another server as an app does, and reads everything. Writes nothing there.
 * @param type asked of the server if it is not given
 * @throws DomainError "unauthorized", "unavailable", "invalid", "too_large"
 */
export async function readAccount(account: Account, type?: ServerType): Promise<Moving> {
  const found = type ?? (await findType(account));
  return READERS[found](open(account, found));
}

async function findType(account: Account): Promise<ServerType> {
  let redirect: DomainError | null = null;
  for (const [type, find] of [
    ["gpodder", findGpodder],
    ["nextcloud", findNextcloud],
    ["openpodcast", findOpenPodcast],
  ] as const) {
    const remote = open(account, type);
    try {
      if ((await find(remote)).isFound) return type;
    } catch (error) {
      // An older Nextcloud redirects what it doesn't know to its page.
      if (!isRefusal(error, "invalid")) throw error;
      redirect ??= error;
    }
  }
  if (redirect) throw redirect;
  throw new DomainError(
    "invalid",
    `${account.server.host} has neither gPodder's API, nor Nextcloud's gPodder Sync, nor the Open Podcast API at ${account.server.pathname}`,
  );
}
