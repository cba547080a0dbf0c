// Databases of older versions, as test/upgrades has recorded them.
import { join } from "node:path";

/** The bytes of the database file of a schema version, such as `0019_episode_titles`. */
export async function readOlderDatabase(version: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = Bun.file(join(import.meta.dir, "..", "upgrades", `${version}.db.gz`));
  return Bun.gunzipSync(await packed.bytes());
}
