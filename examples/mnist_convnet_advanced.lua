-- What a longer run adds to mnist_convnet.lua: rtrain run examples/mnist_convnet_advanced.lua [-- IMAGES [COUNT] [--download]]
--
-- Ray equivalent: "Advanced features" and "Best practices for performance" (Ray Train deep dive, 6.1.5 to 6.2), one program
-- instead of nine pieces. Each part has a key of train_loop_config: amp (autocast in bfloat16 and a GradScaler), gamma
-- (StepLR), patience (early stopping), accumulation_steps (gradient accumulation), compress (gradients travel as float16).
--
-- IMAGES is mnist ($RTRAIN_DATA/mnist; default) or fashion-mnist (Debian's package dataset-fashion-mnist), COUNT how many of
-- them to train on; --download fetches what is missing from the mirror $RTRAIN_DATA_URL. Try --set amp=true, --set
-- patience=1 --set gamma=0.01, --set accumulation_steps=1, -n 1. Three epochs are
-- about 3 minutes on 2 cores and end with:
--
--   epoch 2: lr 0.4900, loss 0.0…, val_loss 0.0…, accuracy 0.98…, 48.1 s, memory 21.4 %, CPU 98.7 %
--   best checkpoint: …/checkpoint_000002
local torch = require 'torch'
local train = require 'rtrain'
local data = require 'rtrain.data'
local datasets = require 'vision.datasets'
local ConvNet = require('vision.models').ConvNet
local nn, StepLR = torch.nn, torch.optim.lr_scheduler.StepLR

-- Data loading: a pipeline of whole batches on several threads.
local download = false
for i = #arg, 1, -1 do
  if arg[i] == '--download' then download = table.remove(arg, i) ~= nil end
end
local MNIST = assert(({mnist = datasets.MNIST, ['fashion-mnist'] = datasets.FashionMNIST})[arg[1] or 'mnist'],
  "IMAGES is 'mnist' or 'fashion-mnist'")

local function preprocess(batch)
  return {image = batch.image:unsqueeze(1):float():div_(255):sub_(0.1307):div_(0.3081), label = batch.label}
end

local function prepare_data(is_train)
  local set = MNIST {train = is_train, download = download}
  local images = data.from_tensors {image = set.data, label = set.targets}
  if arg[2] then images = images:limit(tonumber(arg[2])) end
  return images:map_batches(preprocess, {batch_size = 1000})
end

-- Gradients of all batches but the last of a step stay on this worker.
local function accumulate(model, is_last, fn)
  if is_last or not model.no_sync then return fn() end
  return model:no_sync(fn)
end

local function train_epoch(training, epoch)
  local config, steps = training.config, training.config.accumulation_steps
  local total, count = 0, 0
  training.model:train()
  training.optimizer:zero_grad()
  for batch in training.train_loader do
    count = count + 1
    local is_last = count % steps == 0
    accumulate(training.model, is_last, function()
      -- Mixed precision: the forward pass chooses bfloat16 where that is safe.
      local loss = torch.autocast('cpu', {dtype = 'bfloat16', enabled = config.amp}, function()
        return training.criterion(training.model(batch.image), batch.label)
      end)
      training.scaler:scale(loss / steps):backward()
      total = total + loss:item()
    end)
    if is_last then
      training.scaler:step(training.optimizer)
      training.scaler:update()
      training.optimizer:zero_grad()
    end
  end
  assert(count >= steps, ('epoch %d has fewer batches than accumulation_steps'):format(epoch))
  return total / count
end

-- Mean loss and accuracy over all ranks: each gets the same numbers, so that all stop in the same epoch.
local function validate(training)
  local sums = torch.zeros(3)
  training.model:eval()
  torch.no_grad(function()
    for batch in training.valid_loader do
      local output = training.model(batch.image)
      sums[0] = sums[0] + training.criterion(output, batch.label) * #batch.label
      sums[1] = sums[1] + output:argmax(1):eq(batch.label):sum()
      sums[2] = sums[2] + #batch.label
    end
  end)
  torch.distributed.all_reduce(sums)
  return (sums[0] / sums[2]):item(), (sums[1] / sums[2]):item()
end

-- Figures of the machine, next to the metrics of the training.
local function system_metrics(start_time)
  return train.time.monotonic() - start_time, train.psutil.virtual_memory().percent, train.psutil.cpu_percent(),
    torch.cuda.is_available() and torch.cuda.memory_allocated() or 0
end

local function train_loop_per_worker(config)
  local context = train.get_context()
  local world_size = context:get_world_size()
  torch.manual_seed(config.seed + context:get_world_rank())  -- dropout differs, the model begins as rank 0's
  -- Communication: a static graph, gradients that are views of the buckets, and half of the bytes on the way.
  local model = train.torch.prepare_model(ConvNet(), {parallel_strategy_kwargs = {
    find_unused_parameters = false, gradient_as_bucket_view = true, static_graph = true}})
  if config.compress and world_size > 1 then model:register_comm_hook 'fp16_compress' end
  -- Batch size by world size: each worker takes batch_size, the learning rate suits what all of them take together.
  local effective_batch_size = config.batch_size * world_size * config.accumulation_steps
  local lr = config.lr * math.min(1, effective_batch_size / config.reference_batch_size)
  local optimizer = torch.optim.Adadelta(model:parameters(), {lr = lr})
  local scheduler = StepLR(optimizer, {step_size = 1, gamma = config.gamma})
  local training = {
    config = config, model = model, criterion = nn.NLLLoss(), optimizer = optimizer,
    scaler = torch.amp.GradScaler('cpu', {enabled = config.amp}),
    -- Prepared once and kept; shuffled again in each epoch.
    train_loader = train.get_dataset_shard('train'):materialize():iter_torch_batches {
      batch_size = config.batch_size, local_shuffle_buffer_size = 2000},
    valid_loader = train.get_dataset_shard('valid'):iter_torch_batches {batch_size = 500},
  }

  local best_loss, patience_counter = math.huge, 0
  train.psutil.cpu_percent()  -- counts from here
  for epoch = 0, config.epochs - 1 do
    local start_time = train.time.monotonic()
    local metrics = {epoch = epoch, lr = scheduler:get_last_lr()[1], effective_batch_size = effective_batch_size}
    metrics.loss = train_epoch(training, epoch)
    metrics.val_loss, metrics.accuracy = validate(training)
    scheduler:step()
    metrics.epoch_time, metrics.memory_percent, metrics.cpu_percent, metrics.gpu_memory = system_metrics(start_time)
    train.tempdir(function(dir)
      if context:get_world_rank() > 0 then return train.report(metrics) end
      torch.save(train.torch.unwrap(model):state_dict(), dir .. '/model.pt')
      train.report(metrics, {checkpoint = train.Checkpoint.from_directory(dir)})
      print(('epoch %d: lr %.4f, loss %.4f, val_loss %.4f, accuracy %.4f, %.1f s, memory %.1f %%, CPU %.1f %%'):format(epoch,
        metrics.lr, metrics.loss, metrics.val_loss, metrics.accuracy, metrics.epoch_time, metrics.memory_percent,
        metrics.cpu_percent))
    end)

    -- Early stopping: val_loss is the same on all ranks.
    patience_counter = metrics.val_loss < best_loss and 0 or patience_counter + 1
    best_loss = math.min(best_loss, metrics.val_loss)
    if patience_counter >= config.patience then
      if context:get_world_rank() == 0 then print(('Early stopping at epoch %d'):format(epoch)) end
      break
    end
  end
end

local result = train.TorchTrainer {
  train_loop_per_worker = train_loop_per_worker,
  train_loop_config = {lr = 1.0, gamma = 0.7, epochs = 3, batch_size = 32, accumulation_steps = 2,
                       reference_batch_size = 128, amp = false, compress = true, patience = 5, seed = 1},
  scaling_config = train.ScalingConfig {num_workers = 2, resources_per_worker = {CPU = 1}, placement_strategy = 'SPREAD'},
  torch_config = train.TorchConfig {backend = 'gloo', timeout_s = 3600, init_method = 'env'},
  run_config = train.RunConfig {checkpoint_config = {checkpoint_score_attribute = 'val_loss', checkpoint_score_order = 'min'}},
  datasets = {train = prepare_data(true), valid = prepare_data(false)},
}:fit()
print('best checkpoint: ' .. result:get_best_checkpoint('val_loss', 'min').path)
