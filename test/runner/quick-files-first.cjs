'use strict';
const OrderOfFiles = require('./order-of-files.cjs');

/** For a run that ends with its first failure: the quick files first. */
module.exports = class QuickFilesFirst extends OrderOfFiles {
  sort(tests) {
    return super.sort(tests).reverse();
  }
};
