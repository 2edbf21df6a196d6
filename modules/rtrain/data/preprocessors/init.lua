-- rtrain/data/preprocessors/init.lua: rtrain.data.preprocessors: what is computed of a dataset and then applied to rows, as
-- ray.data.preprocessors.

local function module(name) return 'rtrain.data.preprocessors.' .. name end

---@class rtrain.data.preprocessors
return require 'base.namespace'('data.preprocessors', {
  modules = {
    Chain = module 'chain',
    Concatenator = module 'concatenator',
    CountVectorizer = module 'count_vectorizer',
    CustomKBinsDiscretizer = module 'custom_kbins_discretizer',
    FeatureHasher = module 'feature_hasher',
    HashingVectorizer = module 'hashing_vectorizer',
    LabelEncoder = module 'label_encoder',
    MaxAbsScaler = module 'max_abs_scaler',
    MinMaxScaler = module 'min_max_scaler',
    MultiHotEncoder = module 'multi_hot_encoder',
    Normalizer = module 'normalizer',
    OneHotEncoder = module 'one_hot_encoder',
    OrdinalEncoder = module 'ordinal_encoder',
    PowerTransformer = module 'power_transformer',
    Preprocessor = module 'preprocessor',
    RobustScaler = module 'robust_scaler',
    SimpleImputer = module 'simple_imputer',
    StandardScaler = module 'standard_scaler',
    Tokenizer = module 'tokenizer',
    UniformKBinsDiscretizer = module 'uniform_kbins_discretizer',
  },
  absent = {
    Categorizer = 'use OrdinalEncoder: rtrain has no type for categories',
    KBinsDiscretizer = 'use UniformKBinsDiscretizer or CustomKBinsDiscretizer, as in Ray',
    TorchVisionPreprocessor = 'use map with a transform of vision.transforms',
    BatchMapper = 'use map_batches',
  },
})
