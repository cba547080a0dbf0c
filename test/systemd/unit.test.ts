// The unit that runs the server.
import { expect, test } from "bun:test";
import { describeUnit } from "../../src/systemd/unit.ts";

test.each([true, false])("a file that takes too much memory while it is read doesn't end the service", (isOwn) => {
  const unit = describeUnit("/usr/bin/podkeep", { settings: "/etc/podkeep.env", isOwn });
  // By default systemd ends all processes of a service if one runs out of memory.
  expect(unit).toMatch(/^\[Service\]\n[^[]*^OOMPolicy=continue$/m);
});

test.each([true, false])("the service learns the machine's addresses, for setup links and feed lookups", (isOwn) => {
  const unit = describeUnit("/usr/bin/podkeep", { settings: "/etc/podkeep.env", isOwn });
  // getifaddrs() asks the kernel by it.
  expect(unit).toMatch(/^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
});

test.each([true, false])(
  "a service that any signal ended is started again, one with wrong settings is not",
  (isOwn) => {
    const unit = describeUnit("/usr/bin/podkeep", { settings: "/etc/podkeep.env", isOwn });
    // With on-failure, systemd leaves a server stopped that ends by SIGHUP or SIGTERM.
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=3$/m);
  },
);
