-- vision/datasets/init.lua: data sets of images, as torchvision.datasets.
--
-- An image is a uint8 tensor (h, w) or (h, w, c) until a transform converts it; a label is an integer, int64 in a
-- batch. Nothing is downloaded: files are searched below `root`, or in $RTRAIN_DATA.
return require 'base.namespace'('vision.datasets', {files = {
  {'vision.datasets.vision_dataset', 'VisionDataset'},
  {'vision.datasets.mnist', 'MNIST', 'FashionMNIST', 'KMNIST', 'EMNIST'},
  {'vision.datasets.cifar', 'CIFAR10', 'CIFAR100'},
  {'vision.datasets.folder', 'DatasetFolder', 'ImageFolder'},
  {'vision.datasets.fake_data', 'FakeData'},
  {'vision.datasets.shapes10', 'shapes10'},
}, absent = {
  QMNIST = 'torch.utils.data.TensorDataset of what torch._C.read_idx gives', SVHN = true, STL10 = true, ImageNet =
  'ImageFolder reads its folders', CocoDetection = true, VOCDetection = true,
}})
