// pip and uv: index and extra indexes from the environment and their files. Without any, PyPI and its file host.
import { join } from 'node:path';
import { configLines } from '../../kit/registries/config-lines.ts';
import type { MachineFiles } from '../load/machine-files.ts';
import type { OriginList } from './package-origin.ts';

const indexHost = 'pypi.org';
const fileHost = 'files.pythonhosted.org';

const mainVariables = ['PIP_INDEX_URL', 'UV_INDEX_URL', 'UV_DEFAULT_INDEX'];
const extraVariables = ['PIP_EXTRA_INDEX_URL', 'UV_EXTRA_INDEX_URL', 'UV_INDEX', 'PIP_FIND_LINKS', 'UV_FIND_LINKS'];
const mainKeys = new Set(['index-url', 'index_url']);
const extraKeys = new Set(['extra-index-url', 'extra_index_url', 'find-links', 'find_links']);

export function pipOrigins(machine: MachineFiles, found: OriginList): void {
  let named = false;
  const addAll = (text: string): boolean =>
    urlsIn(text)
      .map((url) => found.addUrl(url))
      .includes(true);
  for (const name of mainVariables) named = addAll(machine.env[name] ?? '') || named;
  for (const name of extraVariables) addAll(machine.env[name] ?? '');
  for (const path of pipFiles(machine)) {
    for (const { key, value } of configLines(machine.readText(path) ?? '')) {
      if (mainKeys.has(key)) named = addAll(value) || named;
      else if (extraKeys.has(key)) addAll(value);
    }
  }
  named = addUvIndexes(machine, addAll) || named;
  if (!named) found.addHttps(indexHost);
  // PyPI's own index points to another host for the files; mirrors serve both.
  if (found.has(indexHost)) found.addHttps(fileHost);
}

/** uv.toml: `[[index]]` tables with `url`, one of them perhaps `default = true`. */
function addUvIndexes(machine: MachineFiles, addAll: (text: string) => boolean): boolean {
  let named = false;
  const config = machine.env.XDG_CONFIG_HOME ?? join(machine.home, '.config');
  for (const path of [join(config, 'uv', 'uv.toml'), '/etc/uv/uv.toml']) {
    for (const { section, key, value } of configLines(machine.readText(path) ?? '')) {
      const inIndex = section === 'index' && key === 'url';
      if (inIndex) addAll(value);
      if (section === 'index' && key === 'default' && value === 'true') named = true;
      if (section === '' || section === 'pip') {
        if (mainKeys.has(key)) named = addAll(value) || named;
        else if (extraKeys.has(key)) addAll(value);
      }
    }
  }
  return named;
}

function pipFiles(machine: MachineFiles): string[] {
  const config = machine.env.XDG_CONFIG_HOME ?? join(machine.home, '.config');
  const files = [
    join(config, 'pip', 'pip.conf'),
    join(machine.home, '.pip', 'pip.conf'),
    '/etc/xdg/pip/pip.conf',
    '/etc/pip.conf',
  ];
  return machine.env.PIP_CONFIG_FILE ? [machine.env.PIP_CONFIG_FILE, ...files] : files;
}

/** Several may stand on one line, in TOML brackets, and uv names them: `corp=https://…`. */
function urlsIn(text: string): string[] {
  return text
    .split(/[\s,[\]"']+/)
    .map((word) => word.replace(/^[A-Za-z0-9_-]+=(?=https?:)/, ''))
    .filter((word) => /^https?:/i.test(word));
}
