// The races as checks: every case for every app.
import type { Check } from "../check.ts";
import { expectEqual } from "../expect.ts";
import { APPS, type SyncApp } from "./apps.ts";
import { requireTwoPasswords, scriptFor, syncClient } from "./client.ts";
import { ONE_LIST } from "./demand.ts";
import { Phone } from "./phone.ts";
import { RACES, type Race } from "./races.ts";

/** What an app does alone: each of its races needs it. */
const SYNC: Race = {
  key: "syncs",
  says: "signs in, reads the list, and uploads a feed and a place",
  async run({ phone, feed }) {
    await phone.sync();
    const mine = feed();
    phone.subscribe(mine);
    phone.play(mine, `${mine}-1.mp3`, 60);
    await phone.sync();
    expectEqual("the device's list", phone.list(), [mine]);
  },
};

const idOf = ({ protocol, key: app }: SyncApp, { key }: Race) => `${protocol}/race-${app}/${key}`;

const checkOf = (app: SyncApp, race: Race): Check => ({
  id: idOf(app, race),
  says: `${app.name} ${race.says}`,
  source: app.source,
  level: "MUST",
  needs:
    race === SYNC ? [] : [...[ONE_LIST, ...(race.needs ?? [])].map((one) => `${app.protocol}/${one}`), idOf(app, SYNC)],
  async run(prober) {
    let devices = 0;
    const name = () => `conformance-${prober.id}-${++devices}`;
    const phone = new Phone(prober, app, name());
    // Described, so that it is listed for apps that read each listed device.
    const other = syncClient(
      prober,
      { ...scriptFor(app.protocol), describes_device: app.protocol === "gpodder" },
      name(),
    );
    await other.signIn();
    await other.readFeeds(0);
    await race.run({
      prober,
      phone,
      other,
      another() {
        if (!app.names_device) requireTwoPasswords(prober);
        return new Phone(prober, app, name(), "second");
      },
      feed: () => prober.feed(),
    });
  },
});

/** Every case for every app of a protocol. */
export const racesOf = (protocol: SyncApp["protocol"]): Check[] =>
  APPS.filter((app) => app.protocol === protocol).flatMap((app) => [SYNC, ...RACES].map((race) => checkOf(app, race)));
