/** The package's version; the bundle's build puts it in (script/bundle-bridge.mjs). */
declare const MUSTER_VERSION: string | undefined;

export const VERSION =
  typeof MUSTER_VERSION === 'undefined' ? '0.0.0-source' : MUSTER_VERSION;
