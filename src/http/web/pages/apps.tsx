// Apps: the list, revoking one, connecting one.
/** @jsxImportSource hono/jsx */
import { raw } from "hono/html";
import { renderSVG } from "uqr";
import type { ConnectedApp, Device } from "../../../services/apps.ts";
import { ActionButton, Copyable, Layout, Time } from "../layout.tsx";
import { type AppKind, steps, texts } from "../texts.ts";

interface AppsProps {
  apps: ConnectedApp[];
  /** Devices that sync by the password. */
  byPassword: Device[];
  /** True if this session may connect and revoke apps. */
  canChange: boolean;
  canWrite: boolean;
}

export function AppsPage({ apps, byPassword, canChange, canWrite }: AppsProps) {
  const text = texts.apps;
  return (
    <Layout title={text.title} section="apps">
      <div class="bar">
        <h1>{text.title}</h1>
        {canChange && (
          <a class="button primary" href="/connect">
            {text.connect}
          </a>
        )}
      </div>
      {!canChange && <p class="muted">{text.needsPassword}</p>}
      {apps.length + byPassword.length === 0 && <p class="muted">{text.none}</p>}
      <ul class="rows">
        {apps.map((app) => (
          <AppRow app={app} canChange={canChange} canWrite={canWrite} />
        ))}
        {byPassword.map((device) => (
          <li>
            <div class="grow">
              <DeviceInfo device={device} canWrite={canWrite} />
            </div>
          </li>
        ))}
      </ul>
    </Layout>
  );
}

function AppRow({ app, canChange, canWrite }: { app: ConnectedApp; canChange: boolean; canWrite: boolean }) {
  const text = texts.apps;
  const { id, label, created_at, expires_at, last_used_at, devices } = app;
  return (
    <li>
      <div class="grow">
        <div class="title">{label || text.noLabel}</div>
        <div class="muted small">
          {text.lastSync} {last_used_at === null ? text.never : <Time ms={last_used_at} />} · {text.created}{" "}
          <Time ms={created_at} day />
          {expires_at !== null && (
            <>
              {" "}
              · {text.expires} <Time ms={expires_at} day />
            </>
          )}
        </div>
        {devices.map((device) => (
          <DeviceInfo device={device} canWrite={canWrite} />
        ))}
      </div>
      {canChange && (
        <a class="button" href={`/apps/${id}/revoke`}>
          {text.revoke}
        </a>
      )}
    </li>
  );
}

function DeviceInfo({ device: { id, caption, type, last_sync_at }, canWrite }: { device: Device; canWrite: boolean }) {
  const text = texts.apps;
  return (
    <details class="small">
      <summary>
        {caption} ({type}) · {text.lastSync}&nbsp;{last_sync_at === null ? text.never : <Time ms={last_sync_at} />}
      </summary>
      {canWrite && (
        <div class="bar">
          <form method="post" action={`/apps/devices/${id}/rename`} class="bar">
            <input name="caption" value={caption} maxlength={200} required aria-label={text.deviceName(caption)} />
            <button type="submit">{text.rename}</button>
          </form>
          <ActionButton action={`/apps/devices/${id}/forget`}>{text.forget}</ActionButton>
        </div>
      )}
    </details>
  );
}

export function RevokePage({ app: { id, label } }: { app: ConnectedApp }) {
  const text = texts.apps;
  return (
    <Layout title={text.revoke} section="apps">
      <h1>{text.revokeAsk(label || text.noLabel)}</h1>
      <div class="bar">
        <ActionButton action={`/apps/${id}/revoke`}>{text.revoke}</ActionButton>
        <a class="button" href="/apps">
          {texts.cancel}
        </a>
      </div>
    </Layout>
  );
}

/** @param nonce makes the form's effect happen once */
export function ConnectPage({ nonce }: { nonce: string }) {
  const text = texts.connect;
  return (
    <Layout title={text.title} section="apps">
      <h1>{text.title}</h1>
      <form method="post" action="/connect">
        <input type="hidden" name="nonce" value={nonce} />
        <div class="field">
          <label for="app">{text.choose}</label>
          <select id="app" name="app">
            {Object.entries(text.apps).map(([kind, name]) => (
              <option value={kind}>{name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="device">{text.device}</label>
          <input id="device" name="device" maxlength={60} />
        </div>
        <button type="submit" class="primary">
          {text.submit}
        </button>{" "}
        <a class="button" href="/apps">
          {texts.cancel}
        </a>
      </form>
    </Layout>
  );
}

/** What an app needs to connect. */
export interface ConnectValues {
  kind: AppKind;
  server: string;
  user: string;
  token: string;
}

/** @param link opens these values on a phone; null on the phone itself */
export function ConnectedPage({ values, link }: { values: ConnectValues; link: string | null }) {
  const text = texts.connect;
  const { kind } = values;
  return (
    <Layout title={text.done(text.apps[kind])} section={link ? "apps" : null}>
      <h1>{text.done(text.apps[kind])}</h1>
      <p class="muted">{text.once}</p>
      <ol class="steps">
        {steps[kind].map(({ text: step, fields = [] }) => (
          <li>
            {step}
            {fields.map(([name, value]) => (
              <div class="value">
                <span class="muted">{name}</span> <Copyable text={values[value]} />
              </div>
            ))}
          </li>
        ))}
      </ol>
      {link && (
        <>
          <h2>{text.scan}</h2>
          <p class="muted">{text.scanOnce}</p>
          <div class="qr" role="img" aria-label={text.scan}>
            {raw(renderSVG(link))}
          </div>
          <p>
            <Copyable text={link} />
          </p>
          <p>
            <a href="/apps">{text.back}</a>
          </p>
        </>
      )}
    </Layout>
  );
}

/** The page behind the code on the phone; a button takes the values. */
export function OpenLinkPage({ known }: { known: boolean }) {
  const text = texts.connect;
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      {known ? (
        <>
          <p>{text.openOnce}</p>
          <form method="post">
            <button type="submit" class="primary">
              {text.open}
            </button>
          </form>
        </>
      ) : (
        <p>{text.expired}</p>
      )}
    </Layout>
  );
}
