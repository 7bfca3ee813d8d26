/** What both sides of the wire agree on. */
export * from './api.js';
export * from './errors.js';
export * from './ids.js';
export * from './quantities.js';
export * from './sizes.js';
export * from './spec.js';
export * from './view.js';
