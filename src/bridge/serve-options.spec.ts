import { describe, expect, test } from '@jest/globals';
import { configPaths, serveOptions } from './serve-options.js';

const NEEDED = ['--runtime', '/run/muster', '--state', '/state'];

describe('bridge.mjs serve', () => {
  test('reads what the Python half says', () => {
    expect(
      serveOptions([
        ...NEEDED,
        '--host-name',
        'login1',
        '--python',
        '/usr/bin/python3',
        '--config',
        '/home/a/.jupyter,/etc/jupyter',
        '--idle-timeout',
        '0',
        '--log-level',
        'debug'
      ])
    ).toEqual({
      runtimeFolder: '/run/muster',
      stateRoot: '/state',
      hostName: 'login1',
      python: '/usr/bin/python3',
      configPaths: ['/home/a/.jupyter', '/etc/jupyter'],
      idleTimeoutSeconds: 0,
      logLevel: 'debug'
    });
  });

  test('has defaults for what is not said', () => {
    expect(serveOptions(NEEDED)).toEqual({
      runtimeFolder: '/run/muster',
      stateRoot: '/state',
      hostName: null,
      python: null,
      configPaths: [],
      idleTimeoutSeconds: 600,
      logLevel: 'info'
    });
  });

  test.each([
    [[], '--runtime is needed'],
    [
      ['--runtime', 'relative', '--state', '/s'],
      '--runtime must be an absolute path'
    ],
    [['--runtime', '/r'], '--state is needed'],
    [[...NEEDED, '--idle-timeout', 'soon'], '--idle-timeout must be seconds'],
    [[...NEEDED, '--idle-timeout', ''], '--idle-timeout must be seconds'],
    [[...NEEDED, '--idle-timeout=-1'], '--idle-timeout must be seconds'],
    [[...NEEDED, '--log-level', 'loud'], '--log-level must be one of'],
    [[...NEEDED, '--host-name', '../x'], 'is not the name of a host'],
    [[...NEEDED, '--python', 'python3'], '--python must be an absolute path'],
    [[...NEEDED, '--port', '80'], '--port'],
    [[...NEEDED, 'extra'], 'extra']
  ])('refuses %j', (args, message) => {
    expect(() => serveOptions(args)).toThrow(message);
  });

  test('folders may be joined by commas or as PATH is', () => {
    expect(configPaths('/a:/b,/c,,relative')).toEqual(['/a', '/b', '/c']);
  });
});
