/** This host's name, as a person knows it and as the name of a folder. */
import { hostname } from 'node:os';

/**
 * The host's name in lower case, only `[a-z0-9._-]`, at most 128 characters, never empty and never
 * beginning with a dot: it names this host's folder inside the state folder.
 */
export function hostName(name: string = hostname()): string {
  const clean = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 128);
  return clean === '' ? 'localhost' : clean;
}
