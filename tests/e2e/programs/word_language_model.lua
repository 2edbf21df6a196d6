-- A recurrent network that predicts the next word: PyTorch's example word_language_model, on sentences that are
-- generated here. It trains, keeps the best model, tests it, and generates some words.
local argparse, torch = require 'argparse', require 'torch'
local nn, F = torch.nn, torch.nn.functional

local parser = argparse.of_config {
  model = 'LSTM', emsize = 24, nhid = 24, nlayers = 2, lr = 20, clip = 0.25, epochs = 3, batch_size = 10, bptt = 12,
  dropout = 0.2, tied = true, seed = 1111, log_interval = 5, save = 'model.pt', words = 20, temperature = 1,
}
local args = parser:parse()

-- A corpus of three files, in which each word is followed by one of few other words.
local Dictionary = {word2idx = {}, idx2word = {}}

function Dictionary.add_word(word)
  if not Dictionary.word2idx[word] then
    Dictionary.idx2word[#Dictionary.idx2word + 1] = word
    Dictionary.word2idx[word] = #Dictionary.idx2word - 1
  end
  return Dictionary.word2idx[word]
end

local function tokenize(count)
  local ids = {}
  for _, row in ipairs(torch.randint(5, {count, 4}):tolist()) do
    local a, b, c, d = unpack(row)
    for word in ('the name%d verb%d a name%d in place%d <eos>'):format(a, (a + b % 2) % 5, (b + c % 2) % 5, d):gmatch '%S+' do
      ids[#ids + 1] = Dictionary.add_word(word)
    end
  end
  return torch.tensor(ids, {dtype = torch.int64})
end

local function batchify(data, bsz)
  local nbatch = math.floor(data:size(0) / bsz)
  return data:narrow(0, 0, nbatch * bsz):view(bsz, -1):t():contiguous()
end

local RNNModel = nn.Module:extend 'RNNModel'

function RNNModel:init(rnn_type, ntoken, ninp, nhid, nlayers, dropout, tie_weights)
  self.ntoken, self.rnn_type, self.nhid, self.nlayers = ntoken, rnn_type, nhid, nlayers
  self.drop = nn.Dropout(dropout)
  self.encoder = nn.Embedding(ntoken, ninp)
  if rnn_type == 'LSTM' or rnn_type == 'GRU' then
    self.rnn = nn[rnn_type](ninp, nhid, nlayers, {dropout = dropout})
  else
    local nonlinearity = assert(({RNN_TANH = 'tanh', RNN_RELU = 'relu'})[rnn_type], 'an unknown model')
    self.rnn = nn.RNN(ninp, nhid, nlayers, {nonlinearity = nonlinearity, dropout = dropout})
  end
  self.decoder = nn.Linear(nhid, ntoken)
  if tie_weights then
    assert(nhid == ninp, 'with tied weights nhid is emsize')
    self.decoder.weight = self.encoder.weight
  end
  nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
  nn.init.zeros_(self.decoder.bias)
  nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
end

function RNNModel:forward(input, hidden)
  local output
  output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
  local decoded = self.decoder(self.drop(output)):view(-1, self.ntoken)
  return F.log_softmax(decoded, {dim = 1}), hidden
end

function RNNModel:init_hidden(bsz)
  local function zeros() return torch.zeros(self.nlayers, bsz, self.nhid) end
  if self.rnn_type == 'LSTM' then return {zeros(), zeros()} end
  return zeros()
end

-- Returns the hidden state detached from its autograd history.
local function repackage_hidden(h)
  if torch.is_tensor(h) then return h:detach() end
  return {h[1]:detach(), h[2]:detach()}
end

torch.manual_seed(args.seed)
local train_data = batchify(tokenize(150), args.batch_size)
local val_data, test_data = batchify(tokenize(40), 5), batchify(tokenize(40), 5)
local ntokens = #Dictionary.idx2word
local model = RNNModel(args.model, ntokens, args.emsize, args.nhid, args.nlayers, args.dropout, args.tied)
local criterion = nn.NLLLoss()

local function get_batch(source, i)
  local seq_len = math.min(args.bptt, #source - 1 - i)
  return source:narrow(0, i, seq_len), source:narrow(0, i + 1, seq_len):reshape(-1)
end

local function evaluate(source)
  model:eval()
  local total, hidden = 0, model:init_hidden(5)
  torch.no_grad(function()
    for i = 0, #source - 2, args.bptt do
      local data, targets = get_batch(source, i)
      local output
      output, hidden = model(data, hidden)
      hidden = repackage_hidden(hidden)
      total = total + #data * criterion(output, targets):item()
    end
  end)
  return total / (#source - 1)
end

local lr, best_val_loss = args.lr, nil

local function train(epoch)
  model:train()
  local total, hidden = 0, model:init_hidden(args.batch_size)
  for i = 0, #train_data - 2, args.bptt do
    local batch = i / args.bptt
    local data, targets = get_batch(train_data, i)
    model:zero_grad()
    hidden = repackage_hidden(hidden)
    local output
    output, hidden = model(data, hidden)
    local loss = criterion(output, targets)
    loss:backward()
    nn.utils.clip_grad_norm_(model:parameters(), args.clip)
    torch.no_grad(function()
      for _, p in ipairs(model:parameters()) do p:add_(p.grad, {alpha = -lr}) end
    end)
    total = total + loss:item()
    if batch % args.log_interval == 0 and batch > 0 then
      local mean = total / args.log_interval
      print(('| epoch %d | batch %d | lr %.2f | loss %.5f | ppl %.4f'):format(epoch, batch, lr, mean, math.exp(mean)))
      total = 0
    end
  end
end

for epoch = 1, args.epochs do
  train(epoch)
  local val_loss = evaluate(val_data)
  print(('| end of epoch %d | valid loss %.5f | valid ppl %.4f'):format(epoch, val_loss, math.exp(val_loss)))
  if not best_val_loss or val_loss < best_val_loss then
    torch.save(model:state_dict(), args.save)
    best_val_loss = val_loss
  else
    lr = lr / 4
  end
end

model:load_state_dict(torch.load(args.save))
os.remove(args.save)
local test_loss = evaluate(test_data)
print(('| end of training | test loss %.5f | test ppl %.4f'):format(test_loss, math.exp(test_loss)))

-- The part of generate.py.
model:eval()
local hidden, input, written = model:init_hidden(1), torch.randint(ntokens, {1, 1}), {}
torch.no_grad(function()
  for i = 1, args.words do
    local output
    output, hidden = model(input, hidden)
    local weights = output:squeeze():div(args.temperature):exp()
    input:fill_(torch.multinomial(weights, 1)[0])
    written[i] = Dictionary.idx2word[input:item() + 1]
  end
end)
print(table.concat(written, ' '))
