// The unit that runs the server.
import { expect, test } from "bun:test";
import { describeUnit } from "../../src/systemd/unit.ts";

test.each([true, false])("a file that takes too much memory while it is read doesn't end the service", (user) => {
  const unit = describeUnit({ executable: "/usr/bin/podkeep", settings: "/etc/podkeep.env", user });
  // By default systemd ends all processes of a service if one runs out of memory.
  expect(unit).toMatch(/^\[Service\]\n[^[]*^OOMPolicy=continue$/m);
});
