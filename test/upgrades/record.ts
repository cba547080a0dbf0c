// Records a database of the present schema version and its responses: `npm run record-schema`, once for each migration.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createBackup } from "../../src/backups/backups.ts";
import { SCHEMA_VERSION } from "../../src/db/migrations/migrate.ts";
import { openTestApp } from "../support/app.ts";
import { ask, askAsApp, askAsDraft, tell } from "./story.ts";

const file = join(import.meta.dirname, `${SCHEMA_VERSION}.db.gz`);
if (existsSync(file)) throw new Error(`${SCHEMA_VERSION} is recorded already`);
const podkeep = await openTestApp({ open_podcast_draft: "on" });
const ann = await tell(podkeep);
// Before it is asked: what apps are told is kept.
const backup = await createBackup(podkeep.app.config, podkeep.clock);
const answers = {
  token: ann.token,
  answers: await ask((path) => ann.request("GET", path)),
  app: await askAsApp(podkeep.send),
  draft: await askAsDraft(podkeep.send, ann.token),
};
await Bun.write(file, Bun.gzipSync(await Bun.file(backup.file).bytes()));
await Bun.write(file.replace(/db\.gz$/, "json"), `${JSON.stringify(answers, null, 2)}\n`);
await podkeep.close();
