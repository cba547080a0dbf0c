// The files that docs/operators/scale.md names, as far as they can be tried without a cluster.
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { guidOf, openTestApp } from "../../support/app.ts";
import { sharedPostgres } from "../../support/database.ts";

setDefaultTimeout(30_000);

const docs = join(import.meta.dir, "../../../docs/operators/scale");

test("the statements for Citus fit the schema, and the server works after them", async () => {
  const server = await sharedPostgres();
  await server.createDatabase("citus", "migrated");
  const connection = server.connect("citus");
  // In place of the extension, which can't be tried here.
  await connection.unsafe(`create function create_distributed_table(regclass, text, colocate_with text default 'default')
    returns void language sql as ''`);
  await connection.unsafe(await Bun.file(join(docs, "citus.sql")).text()).simple();
  await connection.close();
  const app = await openTestApp({ database_url: server.url("citus") });
  const ann = await app.user("ann");
  await ann.add("https://a.example/", guidOf(1));
  await ann.remove(guidOf(1));
  await app.drain();
  expect((await ann.changes()).map((item) => item.is_subscribed)).toEqual([false]);
  await app.close();
});

test("the compose file names existing images, settings and volumes", async () => {
  const text = await Bun.file(join(docs, "compose.yaml")).text();
  const { services, volumes } = Bun.YAML.parse(text) as {
    services: Record<string, { environment?: Record<string, string>; volumes?: string[] }>;
    volumes: Record<string, null>;
  };
  const { settingNames, envNameOf } = await import("../../../src/config/settings.ts");
  const settings = Object.keys(services["podkeep"]?.environment ?? {}).filter((name) => name.startsWith("PODKEEP_"));
  expect(settingNames.map(envNameOf)).toEqual(expect.arrayContaining(settings));
  const used = Object.values(services).flatMap((one) => one.volumes ?? []);
  expect(used.map((volume) => volume.split(":")[0]).sort()).toEqual(Object.keys(volumes).sort());
});
