-- A graph convolutional network that classifies papers by subject from their words and citations, as pygcn (Kipf and
-- Welling, 2017) does. The citations are generated: most of them stay within a subject.
local argparse, torch = require 'argparse', require 'torch'
local nn, F = torch.nn, torch.nn.functional

local args = argparse.of_config {
  seed = 42, epochs = 20, lr = 0.01, weight_decay = 5e-4, hidden = 16, dropout = 0.5, papers = 120, words = 40, subjects = 3,
}:parse()

local GraphConvolution = nn.Module:extend 'GraphConvolution'

function GraphConvolution:init(in_features, out_features)
  self.weight = nn.Parameter(torch.empty(in_features, out_features))
  self.bias = nn.Parameter(torch.empty(out_features))
  local bound = 1 / math.sqrt(out_features)
  nn.init.uniform_(self.weight, -bound, bound)
  nn.init.uniform_(self.bias, -bound, bound)
end

function GraphConvolution:forward(input, adjacency)
  local support = torch.mm(input, self.weight)
  return torch.spmm(adjacency, support) + self.bias
end

local GCN = nn.Module:extend 'GCN'

function GCN:init(features, hidden, classes, dropout)
  self.gc1 = GraphConvolution(features, hidden)
  self.gc2 = GraphConvolution(hidden, classes)
  self.dropout = dropout
end

function GCN:forward(x, adjacency)
  x = F.relu(self.gc1(x, adjacency))
  x = F.dropout(x, {p = self.dropout, training = self.training})
  return F.log_softmax(self.gc2(x, adjacency), {dim = 1})
end

-- Returns the sparse matrix D⁻¹ (A + I) of citations in both directions.
local function normalized(edges, count)
  local loops = torch.arange(count):repeat_(2, 1)
  local indices = torch.cat({edges, edges:flip(0), loops}, 1)
  local adjacency = torch.sparse_coo_tensor(indices, torch.ones(indices:size(1)), {count, count}):coalesce()
  -- A paper may be cited twice: both citations count as one.
  local ones = torch.ones_like(adjacency:values())
  local degree = torch.zeros(count):index_add_(0, adjacency:indices()[0], ones)
  local values = ones / degree[adjacency:indices()[0]]
  return torch.sparse_coo_tensor(adjacency:indices(), values, {count, count})
end

local function load_data()
  local labels = torch.arange(args.papers) % args.subjects
  -- Each subject uses some words more often.
  local favoured = torch.rand(args.subjects, args.words) * 0.4
  local features = torch.rand(args.papers, args.words):lt(favoured[labels] + 0.05):float()
  features = features / features:sum(1, {keepdim = true}):clamp {min = 1}
  local from = torch.randint(args.papers, {3 * args.papers})
  local same = from + args.subjects * torch.randint(args.papers, from.shape)
  local to = torch.where(torch.rand(from.shape):lt(0.8), same, torch.randint(args.papers, from.shape)) % args.papers
  return normalized(torch.stack {from, to}, args.papers), features, labels
end

local function accuracy(output, labels) return output:argmax(1):eq(labels):double():mean():item() end

torch.manual_seed(args.seed)
local adjacency, features, labels = load_data()
local train, validation, test = torch.arange(30), torch.arange(30, 60), torch.arange(60, args.papers)

local model = GCN(args.words, args.hidden, args.subjects, args.dropout)
local optimizer = torch.optim.Adam(model:parameters(), {lr = args.lr, weight_decay = args.weight_decay})

for epoch = 1, args.epochs do
  model:train()
  optimizer:zero_grad()
  local output = model(features, adjacency)
  local loss = F.nll_loss(output[train], labels[train])
  loss:backward()
  optimizer:step()

  model:eval()
  output = model(features, adjacency)
  local validation_loss = F.nll_loss(output[validation], labels[validation])
  print(('epoch %d loss %.6f val_loss %.6f val_acc %.4f'):format(epoch, loss:item(), validation_loss:item(),
    accuracy(output[validation], labels[validation])))
end

model:eval()
local output = model(features, adjacency)
print(('test loss %.6f acc %.4f'):format(F.nll_loss(output[test], labels[test]):item(), accuracy(output[test], labels[test])))
