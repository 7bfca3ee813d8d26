// Copies the picture the UI tests took for the README to where it is kept in git.
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const target = join(here, '..', 'docs', 'images');
mkdirSync(target, { recursive: true });
copyFileSync(
  join(here, 'screenshots', 'readme.png'),
  join(target, 'panel.png')
);
