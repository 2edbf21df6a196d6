-- rtrain/data/init.lua: Ray Data's API: lazy datasets that stream through threads, bounded by bytes.

---@class rtrain.data
return require 'base.namespace'('data', {
  files = {
    {'rtrain.data.from', 'from_items', 'from_torch', 'from_tensors', 'from_blocks', 'range', 'range_tensor'},
    {'rtrain.data.read', 'read_parquet', 'read_csv', 'read_json', 'read_text', 'read_images', 'read_binary_files',
     'read_idx', 'read_numpy'},
    {'rtrain.data.read_archives', 'read_webdataset', 'read_tfrecords'},
    {'rtrain.data.read_tables', 'read_arrow', 'from_huggingface', 'read_sql'},
  },
  modules = {
    Dataset = 'rtrain.data.dataset',
    DataIterator = 'rtrain.data.loop.iterator',
    FileShuffleConfig = 'rtrain.data.sources.file_shuffle_config',
    MixStoppingCondition = 'rtrain.data.dataset.mix_stopping_condition',
    DataContext = 'rtrain.data.executor.context',
    GroupedData = 'rtrain.data.dataset.grouped_data',
    aggregate = 'rtrain.data.aggregate',
    preprocessors = 'rtrain.data.preprocessors',
  },
})
