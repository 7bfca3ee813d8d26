import { describe, expect, test } from '@jest/globals';
import { ERROR_STATUS } from '../../protocol/index.js';
import { openApiDocument } from './openapi.js';
import { ROUTES } from './routes.js';

type Operation = {
  operationId: string;
  parameters: { name: string; in: string; required: boolean }[];
  requestBody?: {
    required: boolean;
    content: Record<string, { schema: object }>;
  };
  responses: Record<string, { description: string; content?: object }>;
};
type Document = {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
};

const document = JSON.parse(
  JSON.stringify(openApiDocument(ROUTES, { version: '0.1.0' }))
) as Document;

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : references(inner)
  );
}

describe('the OpenAPI document', () => {
  test('is of version 3.1 and carries the version of the package', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('0.1.0');
  });

  test('every reference in it leads somewhere', () => {
    const found = new Set(references(document));
    expect(found.size).toBeGreaterThan(10);
    for (const reference of found) {
      const place = reference
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>(
          (at, key) => (at as Record<string, unknown>)[key],
          document
        );
      expect([reference, typeof place]).toEqual([reference, 'object']);
    }
  });

  test('every operation has its own id, its path parameters and the error shape', () => {
    const ids: string[] = [];
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const operation of Object.values(methods)) {
        ids.push(operation.operationId);
        const inPath = [...path.matchAll(/\{([a-z]+)\}/g)].map(
          match => match[1]
        );
        expect(
          operation.parameters
            .filter(parameter => parameter.in === 'path')
            .map(parameter => parameter.name)
        ).toEqual(inPath);
        expect(operation.responses['401']?.content).toEqual({
          'application/json': { schema: { $ref: '#/components/schemas/Error' } }
        });
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('error codes in it are the closed list', () => {
    const text = JSON.stringify(document.components.schemas['Error']);
    for (const code of Object.keys(ERROR_STATUS)) {
      expect(text).toContain(`"${code}"`);
    }
  });

  test('ClusterSpec is shown as requests may say it: sizes also as text, no unknown fields', () => {
    const spec = document.components.schemas['ClusterSpec'] ?? {};
    expect(spec['additionalProperties']).toBe(false);
    expect(Object.keys(spec['properties'] as object)).toEqual([
      'name',
      'backend',
      'profile',
      'scheduler',
      'groups',
      'environment',
      'lifetime',
      'security'
    ]);
    expect(document.paths['/api/v1/clusters']?.['post']?.requestBody).toEqual({
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/ClusterSpec' }
        }
      }
    });
    expect(JSON.stringify(spec)).toMatch(
      /"memory":\{"anyOf":\[\{.*"type":"string"/
    );
  });

  test('routes that do not exist yet are not promised', () => {
    const text = Object.keys(document.paths).join(' ');
    expect(text).not.toMatch(/adopt|hosts|orphans|metrics/);
    expect(document.paths['/api/v1/profiles']).not.toHaveProperty('put');
  });
});
