"""Horovod's API in Lua, `require 'horovod'`, for the train function of a HorovodTrainer."""


# behaviour: Horovod's collectives, objects and optimizer
def test_collectives_objects_and_the_optimizer(rtrain):
    rtrain.run_ok("""
        local hvd, torch, train = require 'horovod', require 'torch', require 'rtrain'
        train.HorovodTrainer(function()
          local ok, err = pcall(hvd.rank)
          assert(not ok and tostring(err):find 'call hvd.init%(%) first')
          hvd.init()
          local rank = hvd.rank()
          local found = {size = hvd.size(), local_rank = hvd.local_rank(), cross_size = hvd.cross_size()}
          found.mean = hvd.allreduce(torch.tensor {rank, 1}):tolist()
          found.whole = hvd.allreduce(torch.tensor({rank, 4}, {dtype = torch.int64})):tolist()
          found.half = hvd.allreduce(torch.tensor {rank + 1 / 3}, {compression = hvd.Compression.fp16, op = hvd.Sum}):item()
          found.rows = hvd.allgather(torch.full({rank + 1, 2}, rank)):tolist()
          found.object = hvd.broadcast_object({x = rank}, 1).x
          found.objects = hvd.allgather_object {x = ('y'):rep(rank)}
          local parts, counts = hvd.alltoall(torch.arange(3) + 10 * rank, {1, 2})
          found.parts, found.counts = parts:tolist(), counts:tolist()
          found.scattered = hvd.reducescatter(torch.arange(3) + rank, {op = hvd.Sum}):tolist()

          local model = torch.nn.Linear(2, 1)
          torch.nn.init.constant_(model.weight, rank)
          hvd.broadcast_parameters(model:state_dict(), 1)
          local optimizer = torch.optim.SGD(model:parameters(), {lr = 1 + rank, momentum = 0.9})
          hvd.broadcast_optimizer_state(optimizer, 0)
          hvd.DistributedOptimizer(optimizer, {named_parameters = model:named_parameters()})
          for _ = 1, 2 do
            optimizer:zero_grad()
            model(torch.full({1, 2}, rank)):sum():backward()
            optimizer:step()
          end
          found.weight = model.weight:tolist()[1]
          train.report(found)
        end, {scaling_config = {num_workers = 2}, horovod_config = train.horovod.HorovodConfig {timeout_s = 60}}):fit()
        """)
    (row,) = rtrain.json("metrics", "last", "--ranks")
    first, second = row["ranks"]
    for rank, found in enumerate((first, second)):
        assert (found["size"], found["local_rank"], found["cross_size"]) == (2, rank, 1)
        assert (found["mean"], found["whole"], found["half"]) == ([0.5, 1], [0, 4], 1.666015625)
        assert found["rows"] == [[0, 0], [1, 1], [1, 1]] and found["object"] == 1
        assert found["objects"] == [{"x": ""}, {"x": "y"}]
        # The parameter begins at 1; mean gradient 0.5, lr 1 and momentum give 0.5, then 0.95.
        assert [round(value, 5) for value in found["weight"]] == [-0.45, -0.45]
    assert (first["parts"], first["counts"], first["scattered"]) == ([0, 10], [1, 1], [1, 3])
    assert (second["parts"], second["counts"], second["scattered"]) == ([1, 2, 11, 12], [2, 2], [5])
