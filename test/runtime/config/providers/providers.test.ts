import assert from 'node:assert/strict';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ConfigProvider } from '../../../../runtime/api/index.ts';
import { plugins } from '../../../../runtime/config/providers/index.ts';

function provider(name: string, config: Record<string, string> = {}): ConfigProvider {
  const found = plugins.find(p => p.className.endsWith(`.${name}`));
  assert.ok(found?.kind === 'config_provider');
  const made = found.create();
  made.configure(config);
  return made;
}

describe('config providers', () => {
  let dir = '';
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'providers-'));
    await writeFile(join(dir, 'db.properties'), 'user = shop\npassword=a\\u00e9 b\n');
    await writeFile(join(dir, 'token'), 'secret\n');
    await symlink('/etc/hostname', join(dir, 'link'));
  });
  after(() => rm(dir, { recursive: true }));

  it('read keys of a properties file and leave out what is not there', async () => {
    const { values: got } = await provider('FileConfigProvider').get(join(dir, 'db.properties'), [
      'user',
      'password',
      'nope',
    ]);
    assert.deepEqual(
      [...got],
      [
        ['user', 'shop'],
        ['password', 'aé b'],
      ],
    );
  });

  it('read whole files of a folder', async () => {
    const { values: got } = await provider('DirectoryConfigProvider').get(dir, ['token', 'nope']);
    assert.deepEqual([...got], [['token', 'secret\n']]);
  });

  it('read nothing outside the allowed paths, links followed', async () => {
    const allowed = provider('FileConfigProvider', { 'allowed.paths': dir });
    assert.equal((await allowed.get(join(dir, 'db.properties'), ['user'])).values.get('user'), 'shop');
    for (const path of ['/etc/hostname', join(dir, '..', 'x'), join(dir, 'link')]) {
      await assert.rejects(allowed.get(path, ['user']), { code: 'CONFIG_PROVIDER_FAILED' });
    }
  });

  it('read the environment within the allow list', async () => {
    process.env.PROVIDER_TEST_A = 'one';
    process.env.SECRET_TEST_B = 'two';
    const { values: got } = await provider('EnvVarConfigProvider', { 'allowlist.pattern': 'PROVIDER_.*' }).get('', [
      'PROVIDER_TEST_A',
      'SECRET_TEST_B',
    ]);
    assert.deepEqual([...got], [['PROVIDER_TEST_A', 'one']]);
  });
});
