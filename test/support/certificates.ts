// Certificates of a private CA, made by openssl.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** What node:tls takes. */
export interface Tls {
  cert: string;
  key: string;
}

/** Makes a CA in a directory; its certificate is in the file `ca`. */
export async function createAuthority(folder: string) {
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { cwd: folder, stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr.toString()}`);
  };
  const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...EC, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj", "/CN=Home CA");
  openssl("req", ...EC, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=podkeep");
  const key = await Bun.file(file("own.key")).text();
  const root = await Bun.file(file("ca.pem")).text();
  let issued = 0;

  /** Issues a certificate. @param names such as "DNS:localhost"; @param days negative for one that has expired */
  async function issue(names: string, days = 10): Promise<Tls> {
    const name = `${++issued}`;
    writeFileSync(file(`${name}.ext`), `subjectAltName=${names}\n`);
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", `${days}`];
    openssl("x509", "-req", "-in", "own.csr", ...signed, "-extfile", `${name}.ext`, "-out", `${name}.pem`);
    return { cert: (await Bun.file(file(`${name}.pem`)).text()) + root, key };
  }

  async function selfSigned(names: string): Promise<Tls> {
    const extension = ["-addext", `subjectAltName=${names}`];
    openssl("req", "-x509", "-key", "own.key", "-out", "self.pem", "-days", "10", "-subj", "/CN=podkeep", ...extension);
    return { cert: await Bun.file(file("self.pem")).text(), key };
  }
  return { ca: file("ca.pem"), issue, selfSigned };
}
