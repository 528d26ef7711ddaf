"""The studies behind mindshare as runnable examples, and the fine-tuning they need.

    building_blocks    ASCII maps with one action between them: data, accuracy, the study
    finetune           a base and examples → a LoRA adapter

Recipes use mindshare as anyone would; nothing imports them.
"""
