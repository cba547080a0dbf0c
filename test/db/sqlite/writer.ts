// A process that adds feeds to the same file one by one.
import { openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { addFeeds } from "../../support/feeds.ts";

const [data_dir = "", user_id = "", count = ""] = process.argv.slice(2);
const app = await openApp(readConfig({ data_dir }, {}).config);
for (let n = 0; n < Number(count); n++) {
  await addFeeds(app, Number(user_id), [`https://theirs.example/${n}`]);
}
await app.close();
